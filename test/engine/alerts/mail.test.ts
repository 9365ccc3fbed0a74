import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { openMail } from '../../../src/engine/alerts/mail.js'

/** As much of a mail server as it takes to be given one mail after the other. */
async function mailServer() {
  const mails: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    let said = ''
    let isBody = false
    socket.write('220 mail.example ESMTP\r\n')
    socket.on('data', chunk => {
      said += chunk.toString()
      for (;;) {
        const end = isBody ? said.indexOf('\r\n.\r\n') : said.indexOf('\r\n')
        if (end < 0) return
        const text = said.slice(0, end)
        said = said.slice(end + (isBody ? 5 : 2))
        if (isBody) {
          mails.push(text)
          isBody = false
          socket.write('250 taken\r\n')
        } else if (text === 'DATA') {
          isBody = true
          socket.write('354 go on\r\n')
        } else if (text === 'QUIT') {
          socket.end('221 bye\r\n')
        } else socket.write('250 well\r\n')
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: new URL(`smtp://127.0.0.1:${port}`),
    mails,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

describe('mail over SMTP', () => {
  it('reaches a mail server, with the same message id however often it is sent', async () => {
    const server = await mailServer()
    const transport = await openMail(server.url)
    const mail = {
      from: 'chronos@example.com',
      to: ['night@example.com'],
      subject: 'dead letters in billing',
      text: '3 dead letters, the oldest for 6 minutes',
      messageId: '<alert-1@chronos>',
    }
    await transport.sendMail(mail)
    await transport.sendMail(mail)
    expect(server.mails).toHaveLength(2)
    for (const text of server.mails) {
      expect(text).toContain('Message-ID: <alert-1@chronos>')
      expect(text).toContain('Subject: dead letters in billing')
      expect(text).toContain('3 dead letters, the oldest for 6 minutes')
    }
    await server.close()
  })

  it('says what to install if nodemailer is missing', async () => {
    const missing = () => Promise.reject(Object.assign(new Error('no'), { code: 'ERR_MODULE_NOT_FOUND' }))
    await expect(openMail(new URL('smtp://127.0.0.1:1'), missing)).rejects.toThrow('nodemailer')
  })
})
