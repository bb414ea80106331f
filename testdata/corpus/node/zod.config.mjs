// For vitest: some of zod's own tests, which are about the sources in its package. The others need other packages, or measure
// times and memory.
const src = process.cwd() + '/src/'
export default {
  resolve: { alias: [{ find: /^zod$/, replacement: src + 'index.ts' }, { find: /^zod\/(.*)$/, replacement: src + '$1/index.ts' }] },
  test: { include: ['src/v4/classic/tests/[a-d]*.test.ts'], testTimeout: 120000, watch: false },
}
