// Package api is the HTTP contract of the control plane and its
// implementation. openapi.yaml is the source of the server's types, of the Go
// client and of the UI's types; every operation in it says in x-access who may
// call it, and one that does not is denied to everybody.
//
// A handler translates between the contract and one use case below it. It
// decides nothing itself: who may do what is access's, what is possible is
// catalog's and lifecycle's, and which error is which status is errors.go's.
package api
