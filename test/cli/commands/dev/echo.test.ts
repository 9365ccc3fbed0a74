import { describe, expect, it } from 'vitest'
import { Echo } from '../../../../src/cli/commands/dev/echo.js'
import { VirtualClock } from '../../../../src/testing.js'

const clock = new VirtualClock()

function call(echo: Echo, query: string, init: RequestInit = {}): Promise<Response | undefined> {
  return echo.answer(new Request(`http://127.0.0.1:4100/__echo${query}`, init))
}

async function statuses(echo: Echo, query: string, times: number, jobId = 'a'): Promise<readonly number[]> {
  const found: number[] = []
  for (let n = 0; n < times; n++) {
    const response = await call(echo, query, { headers: { 'x-chronos-job-id': jobId } })
    found.push(response!.status)
  }
  return found
}

describe('the echo', () => {
  it('returns the request without cookies', async () => {
    const response = await call(new Echo(clock), '', {
      method: 'POST',
      body: '{"a": 1}',
      headers: { cookie: 'secret=1', 'x-other': 'b' },
    })
    expect(response!.status).toBe(200)
    const answer = (await response!.json()) as { headers: Record<string, string> }
    expect(answer).toMatchObject({ method: 'POST', body: '{"a": 1}', headers: { 'x-other': 'b' } })
    expect(answer.headers).not.toHaveProperty('cookie')
  })

  it.each([
    ['?status=418', [418, 418, 418, 418]],
    ['?fail=2', [503, 503, 200, 503]],
    ['?status=429&fail=1', [429, 200, 429, 200]],
    ['?fail=0', [200, 200, 200, 200]],
  ])('answers %s with %j', async (query, expected) => {
    expect(await statuses(new Echo(clock), query, 4)).toEqual(expected)
  })

  it('counts separately for each job and each address', async () => {
    const echo = new Echo(clock)
    expect(await statuses(echo, '?fail=1', 1, 'a')).toEqual([503])
    expect(await statuses(echo, '?fail=1', 1, 'b')).toEqual([503])
    expect(await statuses(echo, '?fail=1&x=1', 1, 'a')).toEqual([503])
    expect(await statuses(echo, '?fail=1', 1, 'a')).toEqual([200])
  })

  it('responds after a delay if requested', async () => {
    const time = new VirtualClock()
    let answered: Response | undefined
    const waiting = call(new Echo(time), '?delay=1s').then(response => {
      answered = response
    })
    await time.advance(999)
    expect(answered).toBeUndefined()
    await time.advance(1)
    await waiting
    expect(answered!.status).toBe(200)
  })

  it.each([
    ['?status=99', 'status: expected a whole number from 200 to 599, got "99"'],
    ['?status=204', 'status: 204 has no body'],
    ['?fail=x', 'fail: expected a whole number'],
    ['?delay=2h', 'delay: expected a duration of at most 1m'],
  ])('rejects %s', async (query, words) => {
    const response = await call(new Echo(clock), query)
    expect(response!.status).toBe(400)
    expect(((await response!.json()) as { error: string }).error).toContain(words)
  })

  it('ignores other paths', async () => {
    expect(await new Echo(clock).answer(new Request('http://127.0.0.1:4100/api/v1/jobs'))).toBeUndefined()
  })
})
