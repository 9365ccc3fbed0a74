import { board } from '../../../lib/chronos.js'

/** The dashboard and the REST API. @param {Request} request */
const answer = request => board.fetch(request)

export { answer as DELETE, answer as GET, answer as PATCH, answer as POST, answer as PUT }
