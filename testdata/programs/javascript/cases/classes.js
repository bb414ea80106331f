'use strict'
// Constructors, also derived ones, in which nothing may touch this before super.
class Base {
  #secret = 1
  static count = 0
  static { Base.count = 10; this.ready = true }
  field = this.constructor.name
  bound = () => this.field
  constructor(x) { Base.count++; this.x = x }
  get secret() { return this.#secret }
  set secret(v) { this.#secret = v }
  #hidden() { return this.#secret + 1 }
  reveal() { return this.#hidden() }
  static make(...args) { return new this(...args) }
  static #private() { return 'private' }
  static open() { return Base.#private() }
  *[Symbol.iterator]() { yield this.x; yield this.secret }
  async later() { return this.x }
  async *each() { yield* [this.x, 2] }
  'quoted'() { return 'q' }
}
class Derived extends Base {
  own = super.reveal()
  constructor(x) {
    const before = x + 1
    super(before)
    this.y = new.target.name
  }
  reveal() { return 'derived ' + super.reveal() }
}
class Plain extends Derived {}
class Returns extends Base { constructor() { return { other: true } } }
class Never extends Base { constructor() { /* no super */ } }
class Late extends Base { constructor() { try { this.x } catch (e) { console.log(e.name) } super(3) } }
const Anonymous = class { run() { return 'anonymous' } }

const d = new Derived(1)
console.log(d.x, d.y, d.own, d.reveal(), d.field, d.bound(), Base.count, Base.ready)
d.secret = 5
console.log(d.secret, d.reveal(), [...d], Base.open(), Derived.make(2).x, new Plain(4).x, d.quoted())
console.log(new Returns(), new Late().x, new Anonymous().run(), Anonymous.name)
try { new Never() } catch (e) { console.log(e.name, e.message) }
try { Base() } catch (e) { console.log(e.name, e.message) }
d.later().then(console.log).then(async () => { for await (const v of d.each()) console.log(v) })
console.log(String(Base), String(Derived.prototype.reveal))
