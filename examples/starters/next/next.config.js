export default {
  // Chronos loads files beside its own, so Next.js must not bundle it.
  serverExternalPackages: ['chronos-jobs'],
  // The dashboard is at /jobs/, with the slash.
  skipTrailingSlashRedirect: true,
}
