// This file has no checkpoints of cg's.
// Routes of Express and Fastify as tasks.
'use strict';

/** Middleware of Express: each request is a task with the name of its route, such as "GET /users/:id". */
function express(context) {
  return function codegreen(request, response, next) {
    const task = context.startTask(request.method);
    const mounted = mountedAt(request);
    response.once('close', () => {
      const route = request.route ? mounted() + request.route.path : '(no route)';
      finish(task, request.method + ' ' + route);
    });
    context.run(task, next);
  };
}

/**
 * Where the routers are mounted that a request is in, such as "/shops/:shop". Express has the path of the request there, in
 * baseUrl: it sets that for each router and sets it back behind it, and params are those of that router then.
 */
function mountedAt(request) {
  const around = [{ path: '', pattern: '' }];
  let path = '';
  const go = (to) => {
    path = to;
    if (typeof to !== 'string') return;
    while (around.length > 1 && !to.startsWith(around.at(-1).path)) around.pop();
    const outer = around.at(-1), own = to.slice(outer.path.length);
    if (own) around.push({ path: to, pattern: outer.pattern + named(own, request.params) });
  };
  go(request.baseUrl);
  Object.defineProperty(request, 'baseUrl', { get: () => path, set: go, enumerable: true, configurable: true });
  return () => around.at(-1).pattern;
}

/** A path with the names of parameters in place of their values. */
function named(path, params) {
  const parts = path.split('/');
  const left = Object.entries(params || {}).filter(([name, value]) => {
    const at = parts.findIndex((part) => part === value || part === encodeURIComponent(value));
    if (at >= 0) parts[at] = ':' + name;
    return at < 0 && value && value.length > 0;
  });
  return left.reduce((text, [name, value]) => text.replace([].concat(value).join('/'), () => ':' + name), parts.join('/'));
}

/** A plugin of Fastify that does the same. */
function fastify(context) {
  const inTask = new WeakMap(); // of a request: what calls a function inside its task
  function codegreen(server, options, done) {
    server.addHook('onRequest', (request, reply, next) => {
      const task = context.startTask(request.method);
      // A request that the client breaks off has no onResponse.
      reply.raw.once('close', () => {
        const { url } = request.routeOptions || {};
        finish(task, request.method + ' ' + (url || '(no route)'));
      });
      inTask.set(request, (f) => context.run(task, f));
      context.run(task, next);
    });
    // The parser of a body goes on in an event of the connection, which is outside.
    server.addHook('preValidation', (request, reply, next) => {
      const inside = inTask.get(request);
      if (inside) inside(next);
      else next();
    });
    done();
  }
  codegreen[Symbol.for('skip-override')] = true; // it is for all routes of the server
  codegreen[Symbol.for('fastify.display-name')] = 'codegreen';
  return codegreen;
}

/** Ends the task of a request, which counts one unit of work. */
function finish(task, name) {
  task.rename(name);
  task.count(1, 'request');
  task.endAll();
}

module.exports = { express, fastify };
