// Package junit reads JUnit XML, as test runners write it, into a bounded report. The files
// come out of containers, so nothing in them is trusted: size, depth and text are limited,
// and neither entities nor other documents are resolved.
package junit
