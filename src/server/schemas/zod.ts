import { extendZodWithOpenApi } from '@asteasolutions/zod-to-openapi'
import { z } from 'zod'

// Adds `.openapi()` to schemas, for names and descriptions in the OpenAPI document.
extendZodWithOpenApi(z)

export { z }
