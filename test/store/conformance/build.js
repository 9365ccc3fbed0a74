import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

// The compiler keeps the folders of the repository; the package has the suite beside the modules of `src`.
const root = new URL('../../../', import.meta.url)
const output = new URL('.cache/conformance/', root)
const compiled = new URL('test/store/conformance/', output)
const shipped = new URL('dist/conformance/', root)

rmSync(shipped, { recursive: true, force: true })
mkdirSync(shipped, { recursive: true })
for (const name of readdirSync(compiled).filter(each => /\.(js|d\.ts)$/.test(each))) {
  const text = readFileSync(new URL(name, compiled), 'utf8')
  writeFileSync(new URL(name, shipped), text.replace(/(['"])(?:\.\.\/){3}src\//g, '$1../'))
}
rmSync(output, { recursive: true })
