import {
  type DynamicModule,
  type INestApplication,
  Inject,
  type InjectionToken,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OptionalFactoryDependency,
  SetMetadata,
} from '@nestjs/common'
import { DiscoveryModule, DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core'
import { ChronosError } from './core/values/error.js'
import type { Chronos } from './engine/client/chronos.js'
import {
  type DefinitionWithoutSchema,
  type DefinitionWithSchema,
  defineJob,
  type JobContext,
  type JobDefinition,
} from './engine/client/definition.js'
import type { WorkOptions } from './engine/client/options.js'
import { type CreateOptions, createChronos } from './index.js'
import { type Authentication, type ChronosServer, createServer, type ServerOptions } from './server.js'

/** Options of `createChronos`, and of the worker. */
export interface ChronosModuleOptions extends CreateOptions {
  /** Options of the worker that runs the handlers of this application. false: run no jobs here. */
  readonly work?: Omit<WorkOptions, 'signals'> | false
}

export interface ChronosModuleAsyncOptions {
  readonly imports?: DynamicModule['imports']
  readonly inject?: readonly (InjectionToken | OptionalFactoryDependency)[]
  readonly useFactory: (...given: never[]) => ChronosModuleOptions | Promise<ChronosModuleOptions>
}

/** The token of the client, for providers that are built by a factory. */
export const CHRONOS: unique symbol = Symbol('chronos')
const OPTIONS = Symbol('chronos options')
const RUNNER = Symbol('chronos runner')
const HANDLER = 'chronos:job-handler'

/** A job without its function, which is the decorated method. */
export type JobHandlerOptions =
  | Omit<DefinitionWithoutSchema<never, unknown>, 'run' | 'reconcile'>
  | Omit<DefinitionWithSchema<never, unknown>, 'run' | 'reconcile'>

/** Injects the client: `constructor(@InjectChronos() private readonly chronos: Chronos)`. */
export const InjectChronos = (): ParameterDecorator & PropertyDecorator => Inject(CHRONOS)

/** The method of a provider handles this job; it gets the payload and the job. */
export const JobHandler = (job: JobHandlerOptions): MethodDecorator => SetMetadata(HANDLER, job)

/** Opens a Chronos, runs the handlers of the application, and stops with it. The client can be injected everywhere. */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows a module by its class
export class ChronosModule {
  static forRoot(options: ChronosModuleOptions): DynamicModule {
    return ChronosModule.forRootAsync({ useFactory: () => options })
  }

  static forRootAsync({ imports = [], inject = [], useFactory }: ChronosModuleAsyncOptions): DynamicModule {
    const run = (
      chronos: Chronos,
      options: ChronosModuleOptions,
      discovery: DiscoveryService,
      scanner: MetadataScanner,
      reflector: Reflector,
    ): Runner => new Runner(chronos, options, () => handlersIn(discovery, scanner, reflector))
    return {
      module: ChronosModule,
      global: true,
      imports: [DiscoveryModule, ...imports],
      providers: [
        { provide: OPTIONS, inject: [...inject], useFactory: useFactory as () => ChronosModuleOptions },
        { provide: CHRONOS, inject: [OPTIONS], useFactory: open },
        { provide: RUNNER, inject: [CHRONOS, OPTIONS, DiscoveryService, MetadataScanner, Reflector], useFactory: run },
      ],
      exports: [CHRONOS],
    }
  }
}
Module({})(ChronosModule)

const open = ({ work: _, ...options }: ChronosModuleOptions): Chronos => createChronos(options)

/** Starts the worker when every provider exists, and stops it before the application ends. */
class Runner implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #chronos: Chronos
  readonly #work: ChronosModuleOptions['work']
  readonly #handlers: () => readonly JobDefinition<never>[]

  constructor(chronos: Chronos, { work = {} }: ChronosModuleOptions, handlers: () => readonly JobDefinition<never>[]) {
    this.#chronos = chronos
    this.#work = work
    this.#handlers = handlers
  }

  onApplicationBootstrap(): void {
    if (this.#work === false) return
    const handlers = this.#handlers()
    if (handlers.length > 0) this.#chronos.work(handlers, { ...this.#work, signals: false })
  }

  /** Running handlers get the grace period; then the store is closed. */
  async onApplicationShutdown(): Promise<void> {
    await this.#chronos.close()
  }
}

type Provider = Readonly<Record<string, (payload: unknown, job: JobContext) => unknown>>

function handlersIn(
  discovery: DiscoveryService,
  scanner: MetadataScanner,
  reflector: Reflector,
): readonly JobDefinition<never>[] {
  return [...discovery.getProviders(), ...discovery.getControllers()].flatMap(wrapper => {
    const instance = wrapper.instance as Provider | null | undefined
    if (!instance || typeof instance !== 'object') return []
    return scanner.getAllMethodNames(Object.getPrototypeOf(instance)).flatMap(name => {
      const method = instance[name]
      const job = method && reflector.get<JobHandlerOptions | undefined>(HANDLER, method)
      if (!job) return []
      if (!wrapper.isDependencyTreeStatic()) {
        throw new ChronosError(
          'INVALID_OPTION',
          `@JobHandler of job "${job.name}": its provider has a scope of requests; a job has no request, so give it the default scope`,
        )
      }
      return [
        defineJob({
          ...job,
          run: (payload: unknown, context: JobContext) => instance[name]!(payload, context),
        } as never),
      ]
    })
  })
}

/**
 * Mounts the REST API and the dashboard at this path, behind the login of the application. Call it before `listen`; the
 * server ends with the application.
 */
export function mountDashboard(
  app: INestApplication,
  path: string,
  options: Omit<ServerOptions, 'basePath'> & Authentication,
): ChronosServer {
  const server = createServer(app.get<Chronos>(CHRONOS), { ...options, basePath: path })
  app.use(path, server.listener)
  return server
}
