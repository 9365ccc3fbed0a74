/**
 * The menu of the site: every page of docs/, once. `build.js` fails if a page is missing here.
 *
 * @type {readonly { readonly text: string, readonly pages: readonly string[] }[]}
 */
export const MENU = [
  { text: 'Start', pages: ['install', 'tutorial', 'concepts', 'recipes', 'faq'] },
  {
    text: 'Guides',
    pages: [
      'jobs',
      'results',
      'retries',
      'limits',
      'failures',
      'http',
      'schedules',
      'webhooks',
      'pull-workers',
      'frameworks',
      'testing',
    ],
  },
  {
    text: 'Operating',
    pages: [
      'operating',
      'dashboard',
      'incidents',
      'alerts',
      'metrics',
      'tracing',
      'postgres',
      'runbook',
      'capacity',
      'upgrading',
      'security',
      'mcp',
    ],
  },
  {
    text: 'Reference',
    pages: [
      'cli',
      'reference/commands',
      'api',
      'configuration',
      'reference/options',
      'reference/events',
      'reference/errors',
      'stores',
      'glossary',
    ],
  },
  {
    text: 'Project',
    pages: ['comparison', 'migrating', 'reliability', 'benchmarks', 'compatibility', 'requirements', 'architecture'],
  },
]
