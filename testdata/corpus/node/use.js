'use strict'
// Uses a package as its documentation does, and prints what does not change from run to run.
const uses = {
  acorn() {
    const text = require('fs').readFileSync(require.resolve('lodash/lodash.js'), 'utf8')
    console.log(JSON.stringify(require('acorn').parse(text, { ecmaVersion: 2022 })).length)
  },
  async express() {
    const app = require('express')()
    app.get('/:name', (request, response) => response.send('hello ' + request.params.name))
    app.use((error, request, response, next) => response.status(500).end(error.message))
    const server = app.listen(0, async () => {
      for (let i = 0; i < 50; i++) {
        const answer = await fetch('http://127.0.0.1:' + server.address().port + '/' + i)
        if (i % 10 === 0) console.log(answer.status, await answer.text())
        else await answer.text()
      }
      server.close()
      server.closeAllConnections()
    })
  },
  async fastify() {
    const app = require('fastify')()
    app.get('/:n', { schema: { params: { type: 'object', properties: { n: { type: 'integer' } } } } }, async (request) => ({ twice: request.params.n * 2 }))
    for (const url of ['/21', '/x', '/']) {
      const answer = await app.inject(url)
      console.log(answer.statusCode, answer.body)
    }
  },
  lodash() {
    const _ = require('lodash')
    console.log(_.map(_.groupBy(_.range(5000), (x) => x % 7), 'length'), _.sortBy(_.range(999), (x) => -x)[0])
    console.log(_.template('<% for (const a of all) { %>[<%- a %>]<% } %>')({ all: ['<', 2] }), _.debounce.length, _.merge({ a: [1] }, { a: [, 2] }))
  },
  rxjs() {
    const { range, filter, map, reduce, interval, take, throwError, catchError, of } = require('rxjs')
    range(0, 3000).pipe(filter((x) => x & 1), map((x) => x * 2), reduce((a, b) => a + b)).subscribe(console.log)
    interval(1).pipe(take(5)).subscribe({ next: console.log, complete: () => console.log('complete') })
    throwError(() => new Error('no')).pipe(catchError((e) => of(e.message))).subscribe(console.log)
  },
  ws() {
    const { WebSocketServer, WebSocket } = require('ws')
    const server = new WebSocketServer({ port: 0 }, () => {
      const client = new WebSocket('ws://127.0.0.1:' + server.address().port)
      client.on('open', () => client.send('x'.repeat(70000)))
      client.on('message', (m) => { console.log(String(m).length); client.close(); server.close() })
      client.on('close', (code) => console.log('closed', code))
    })
    server.on('connection', (socket) => socket.on('message', (m) => socket.send(m)))
  },
  zod() {
    const { z } = require('zod')
    const schema = z.array(z.object({ a: z.string(), b: z.number().optional() }))
    console.log(schema.parse(Array.from({ length: 2000 }, (_, i) => ({ a: 'x' + i, b: i }))).length)
    console.log(schema.safeParse([{ a: 1 }]).error.issues)
  },
}
uses[process.argv[2]]()
