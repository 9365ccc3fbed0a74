import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** The current width of an element; 0 until it is known. */
export function useWidth<E extends HTMLElement>(): readonly [RefObject<E>, number] {
  const element = useRef<E>(null) as RefObject<E>
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const watched = element.current
    if (watched === null) return
    setWidth(Math.floor(watched.clientWidth))
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.floor(entry.contentRect.width))
    })
    observer.observe(watched)
    return () => observer.disconnect()
  }, [])
  return [element, width]
}
