const ENDED = 'gets no security fixes since April 2026; Chronos runs on it, Node 22 and 24 are safer'

/** What has to be known of a Node that is not looked after any more; undefined for others. */
export function nodeWarning(version = process.versions.node): string | undefined {
  return version.startsWith('20.') ? ENDED : undefined
}
