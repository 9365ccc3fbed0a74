export function failure(message: string, more: Readonly<Record<string, unknown>>): Error {
  return Object.assign(new Error(message), more)
}
