// Package sweep kills the real agent, and looks what becomes of its work.
//
// Its test builds the product with failpoints, and for each of them lets the
// agent's process die there by kill -9 while a small deployment is made or
// removed on a real Docker Engine. The agent is started again, and has to
// settle: nothing is left, no plugin ran twice, undoing went backwards, and the
// reports arrived once each. A failpoint that is never visited is a failure too.
//
// How long that takes depends on the machine, so no test bounds it: BenchmarkSettle
// measures it, and `make bench` holds it to its goal.
package sweep
