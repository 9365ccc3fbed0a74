import { createElement } from 'react'

export default function Page() {
  return createElement('a', { href: '/jobs/' }, 'Jobs')
}
