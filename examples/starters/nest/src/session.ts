/** The login of your application; this one knows a single user. */
export const COOKIE = 'session=ada; Path=/; HttpOnly; SameSite=Lax'

/** Who may see the dashboard, and as what. */
export function authorize(request: Request) {
  const isSignedIn = /(?:^|; )session=ada(?:;|$)/.test(request.headers.get('cookie') ?? '')
  return isSignedIn ? { name: 'ada', role: 'admin' as const } : null
}
