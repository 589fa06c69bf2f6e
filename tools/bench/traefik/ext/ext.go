// Package ext stands for Traefik's module of the same name, which holds the extension points of its
// commercial edition. It lies in a folder of Traefik's repository and is not published by itself,
// so Traefik cannot be built from its module without a stand-in. Nothing is extended here.
package ext

// HTTP extends nothing.
type HTTP struct{}

// Router extends nothing.
type Router struct{}
