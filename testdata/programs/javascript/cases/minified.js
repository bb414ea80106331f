// Words of suspension without a blank behind them, and yields that end with their line.
var say=async t=>{for(let r of t)await(0,console.log)(r);await[1];await`text`;await/re/;return await!1}
async function each(){for await(const x of[1,2])console.log(x);for await(const c of"ab")console.log(c)}
function*gives(){const got=yield(1);yield[got];yield`text`;yield*[2,3];yield!0}
function*lines(){
  yield
  [1,2].forEach(x=>console.log('own statement',x))
  yield // nothing
  (()=>console.log('called'))()
  yield
  /b/.exec('b')
  const last = yield /*
  */
  `text`.length
  return last
}
say(['a','b']).then(v=>{console.log(v);return each()}).then(()=>{
  console.log([...gives()],[...lines()])
  console.log(say.toString());console.log(String(each));console.log(String(gives));console.log(String(lines))
})
