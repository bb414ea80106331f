exports.named = function () { return module.exports === exports }
