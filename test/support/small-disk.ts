import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const CHUNK = Buffer.alloc(64 * 1024)

/** Why a small disk can't be mounted here. */
export function mountMissing(): string | undefined {
  if (process.platform !== 'linux') return 'a small disk needs tmpfs, which is part of Linux'
  if (process.getuid?.() !== 0) return 'mounting a small disk needs root'
  return undefined
}

/** A file system of a few megabytes in memory, which can be filled up. */
export class SmallDisk {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  static mount(megabytes: number): SmallDisk {
    const path = mkdtempSync(join(tmpdir(), 'chronos-disk-'))
    const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', path])
    if (status !== 0) throw new Error(`mount: ${String(stderr)}`)
    return new SmallDisk(path)
  }

  /** Takes all the space that is left. */
  fill(): void {
    for (let size = CHUNK.length; size >= 512; size /= 2) {
      try {
        for (;;) writeFileSync(this.#filler, CHUNK.subarray(0, size), { flag: 'a' })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    }
  }

  /** Gives the space back. */
  free(): void {
    rmSync(this.#filler, { force: true })
  }

  unmount(): void {
    this.free()
    spawnSync('umount', ['-l', this.path])
    rmdirSync(this.path)
  }

  get #filler(): string {
    return join(this.path, 'filler')
  }
}
