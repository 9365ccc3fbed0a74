/** The login of your application; this one knows a single user. */
export const COOKIE = 'session=ada; Path=/; HttpOnly; SameSite=Lax'

/** Who may see the dashboard, and as what. @param {Request} request */
export function authorize(request) {
  const isSignedIn = /(?:^|; )session=ada(?:;|$)/.test(request.headers.get('cookie') ?? '')
  return isSignedIn ? { name: 'ada', role: /** @type {const} */ ('admin') } : null
}
