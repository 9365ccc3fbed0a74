import { extendZodWithOpenApi } from '@asteasolutions/zod-to-openapi'
import { z } from 'zod'

// Gives schemas `.openapi()`: names and words for the OpenAPI document.
extendZodWithOpenApi(z)

export { z }
