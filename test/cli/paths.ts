import { say } from './memory-io.js'

export const help = async (path: readonly string[]): Promise<string> =>
  (await say([...path, '--help'], { isTTY: true, columns: 200, env: { NO_COLOR: '1' } })).stdout

/** The path of every command, found by reading the help of each group. */
export async function commandPaths(path: readonly string[] = []): Promise<readonly (readonly string[])[]> {
  const section = /^Commands:\n((?: {2}.*\n)+)/m.exec(await help(path))?.[1] ?? ''
  const names = [...section.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name!).filter(name => name !== 'help')
  const below = await Promise.all(names.map(name => commandPaths([...path, name])))
  return [path, ...below.flat()]
}
