// Package api is the HTTP contract of the control plane and its implementation.
// openapi.yaml is the source of the server's types, of the Go client and of the UI's
// types; x-access of an operation says who may call it, and an operation without it is
// denied to everyone.
//
// A handler translates between the contract and one use case. It decides nothing
// itself: package access decides who may do what, catalog and lifecycle what is
// possible, and errors.go maps errors to statuses.
package api
