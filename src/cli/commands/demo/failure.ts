/** An error with a code or a status. */
export function failure(message: string, more: Readonly<Record<string, unknown>>): Error {
  return Object.assign(new Error(message), more)
}
