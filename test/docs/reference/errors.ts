import { EXIT_OF } from '../../../src/cli/exit.js'
import { ChronosError, ERROR_CODES } from '../../../src/core/values/error.js'
import { ERROR_MEANINGS } from '../../../src/core/values/error-meanings.js'
import { problemOf } from '../../../src/server/http/problem.js'

export function errorsPage(): string {
  const rows = ERROR_CODES.map(code => {
    const { status } = problemOf(new ChronosError(code, ''))
    return `| \`${code}\` | ${ERROR_MEANINGS[code]} | ${status} | ${EXIT_OF[code]} |`
  })
  return `# All errors

Everything that Chronos throws is a \`ChronosError\` with a stable \`code\`, and a message that names the thing, the value and what to do. Over HTTP the
code is in the body of the response ([REST API](../api.md)); the command line prints it and ends with the exit code. The reasons of dead jobs are in
[How a job ends](../retries.md#how-a-job-ends).

| Code | Meaning | HTTP status | Exit code |
|---|---|--:|--:|
${rows.join('\n')}
`
}
