// Package apiclient is the generated Go client of the API. The command line
// and the end-to-end tests speak through it and through nothing else.
package apiclient
