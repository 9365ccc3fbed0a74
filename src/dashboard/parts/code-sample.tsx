import { useSignal } from '@preact/signals'
import { copyText, type Sample } from '../data/copy.js'
import { IconButton } from './button.js'
import { Segmented } from './form/field.js'

const LANGUAGES = [
  { value: 'curl', text: 'curl' },
  { value: 'ts', text: 'TypeScript' },
  { value: 'cli', text: 'CLI' },
] as const

export interface CodeSampleProps {
  readonly sample: Sample
  readonly label: string
}

/** A code sample in three languages with a copy button. */
export function CodeSample({ sample, label }: CodeSampleProps) {
  const language = useSignal<keyof Sample>('curl')
  return (
    <div class="code-sample">
      <div class="row apart">
        <Segmented
          label={label}
          value={language.value}
          options={LANGUAGES}
          onChange={value => (language.value = value)}
        />
        <IconButton
          size="sm"
          icon="copy"
          label={`Copy as ${language.value}`}
          onPress={() => void copyText(sample[language.value])}
        />
      </div>
      <Code text={sample[language.value]} label={label} />
    </div>
  )
}

/** Preformatted text that scrolls if it is wide. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable element must be reachable by keyboard
    <section class="code" tabIndex={0} aria-label={label}>
      <pre>{text}</pre>
    </section>
  )
}
