import { describe, expect, it } from 'vitest'
import { shownUrl } from '../../../src/core/http/shown-url.js'

describe('a URL that is shown', () => {
  it.each([
    ['https://a.example/hooks', 'https://a.example/hooks'],
    ['https://a.example/hooks?token=s3cret&team=7#top', 'https://a.example/hooks?token=…&team=…'],
    ['https://a.example/hooks?s3cret', 'https://a.example/hooks?…'],
    ['https://a.example/hooks?token=a=b?c', 'https://a.example/hooks?token=…'],
    ['https://ann:s3cret@a.example/hooks', 'https://a.example/hooks'],
    ['https://a.example/@ann?to=b@c', 'https://a.example/@ann?to=…'],
    ['https://a.example/?', 'https://a.example/'],
    ['/next?token=s3cret', '/next?token=…'],
    ['//ann:s3cret@a.example/next', '//a.example/next'],
  ])('%s has no secrets: %s', (url, shown) => {
    expect(shownUrl(url)).toBe(shown)
    expect(shownUrl(shown)).toBe(shown)
  })
})
