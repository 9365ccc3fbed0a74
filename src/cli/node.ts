const ENDED = 'has had no security fixes since April 2026; Chronos still runs on it, but use Node 22 or 24'

/** A warning about a Node version that gets no security fixes. */
export function nodeWarning(version = process.versions.node): string | undefined {
  return version.startsWith('20.') ? ENDED : undefined
}
