import { httpRequest } from '../../core/http/request.js'
import { jobQuery } from '../../core/job/filter.js'
import { enqueueOptions } from '../../core/job/options.js'
import { jobView } from '../../core/job/view.js'
import { isScheduleForm, scheduleForm } from '../../core/schedule/form.js'
import { count } from '../../core/values/count.js'
import { jobName } from '../../core/values/limits.js'
import {
  about,
  anyText,
  anything,
  type Infer,
  jsonSchema,
  named,
  oneOf,
  type Schema,
  schema,
} from '../../core/values/schema.js'
import { listOf, object, view } from '../../core/values/shape.js'
import { jobOrSchedule } from '../../engine/jobs/by-id.js'
import { searched } from '../../engine/jobs/search.js'

// The forms in which jobs are given, filtered and returned.

export const jobFilter = named('JobFilter', jobQuery, { description: 'Selects jobs that match every condition.' })

export const jobList = named(
  'JobList',
  view(
    { data: listOf(jobView), page: view({}, { next: anyText }), count },
    { searched: about(searched, 'How far back a search by `q` or `error` went.') },
  ),
)

export const allList = named(
  'JobAndScheduleList',
  view({ ...jobList.required, data: listOf(jobOrSchedule) }, jobList.optional),
)

export const warnings = about(listOf(anyText), 'Options that have no effect.')

export const enqueuedJob = named(
  'EnqueuedJob',
  view({ ...jobView.required, status: oneOf(['created', 'existing', 'replaced']) }, { ...jobView.optional, warnings }),
)

const { tx: _, ...options } = enqueueOptions.optional

const newJob = named('NewJob', object({ name: jobName }, { payload: anything, ...options }), {
  example: { name: 'charge-card', payload: { orderId: 'A-17' }, queue: 'payments' },
})
const newHttpJob = named('NewHttpJob', object({ http: httpRequest }, options), {
  example: { http: { method: 'POST', url: 'https://api.example/charge' } },
})
export type NewJob = Infer<typeof newJob> | Infer<typeof newHttpJob>

/** One of several forms; errors are about the form that the caller meant. */
function formOf<S extends Schema>(forms: readonly S[], meant: (given: unknown) => S): Schema<Infer<S>> {
  return schema<Infer<S>>({
    kinds: ['object'],
    expects: 'an object',
    check: given => meant(given).check(given) as Infer<S>,
    json: to => ({ anyOf: forms.map(form => jsonSchema(form, to)) }),
  })
}

const isHttp = (given: unknown): boolean => typeof given === 'object' && given !== null && 'http' in given

export const jobForm = formOf<typeof newJob | typeof newHttpJob>([newJob, newHttpJob], given =>
  isHttp(given) ? newHttpJob : newJob,
)
export const jobOrScheduleForm = formOf<typeof jobForm | typeof scheduleForm>([jobForm, scheduleForm], given =>
  isScheduleForm(given) ? scheduleForm : jobForm,
)
