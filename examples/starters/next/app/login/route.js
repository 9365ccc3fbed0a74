import { COOKIE } from '../../lib/session.js'

export function POST() {
  return Response.json({ user: 'ada' }, { headers: { 'Set-Cookie': COOKIE } })
}
