package compose

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readServiceFields are the paths in a service that a converter carries over or
// notes. "*" is any one part and "**" all below. Everything else in the
// document is listed as not carried over, so a field which is missing here is
// never lost silently.
var readServiceFields = splitPaths("image", "command", "command.*", "environment.**",
	"ports.*", "ports.*.target", "ports.*.published", "ports.*.protocol", "ports.*.host_ip",
	"expose.*", "volumes.*", "volumes.*.type", "volumes.*.source", "volumes.*.target",
	"volumes.*.read_only", "volumes.*.tmpfs.size", "volumes.*.volume.nocopy",
	"healthcheck.test", "healthcheck.test.*", "healthcheck.interval", "healthcheck.timeout",
	"healthcheck.retries", "healthcheck.start_period", "healthcheck.disable", "depends_on.*",
	"depends_on.*.condition", "deploy.resources.limits.cpus", "deploy.resources.limits.memory",
	"deploy.replicas", "deploy.mode", "deploy.restart_policy.condition", "scale", "cpus",
	"mem_limit", "configs.*", "configs.*.source", "configs.*.target", "secrets.*",
	"secrets.*.source", "secrets.*.target", "restart", "profiles.*", "build.**", "user",
	"entrypoint", "entrypoint.*", "init", "stop_signal", "stop_grace_period", "tmpfs", "tmpfs.*",
	"extra_hosts.**", "read_only")

// readTopFields are those outside of services. The version means nothing in
// Compose either; include is listed by its own sentence.
var readTopFields = splitPaths("version", "services.**", "include.**", "configs.*.content",
	"secrets.*.file", "secrets.*.environment", "volumes.*")

func splitPaths(paths ...string) [][]string {
	var all [][]string
	for _, path := range paths {
		all = append(all, strings.Split(path, "."))
	}
	return all
}

// listUnsupported lists what no converter reads in a service, or outside of
// services if the name is empty.
func (r *composeReader) listUnsupported(service string) {
	for _, p := range r.files {
		node, known := p.root, readTopFields
		if service != "" {
			node, known = childOf(childOf(node, "services"), service), readServiceFields
		}
		if node != nil {
			r.walkFields(Note{File: p.file, Line: node.Line, Service: service}, node, nil, known)
		}
	}
}

// walkFields goes down as long as a converter reads something below. at is the
// place of the node, as a note has it.
func (r *composeReader) walkFields(at Note, n *yaml.Node, path []string, known [][]string) {
	whole, below := matchPath(path, known)
	empty := len(n.Content) == 0 && (n.Kind != yaml.ScalarNode || n.Tag == "!!null")
	switch {
	case !whole && !below, !whole && !empty && n.Kind == yaml.ScalarNode:
		at.Message = strings.Join(path, ".") + ": this is not carried over"
		r.out.Notes = append(r.out.Notes, at)
	case n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			at.Line = item.Line
			r.walkFields(at, item, extendPath(path, strconv.Itoa(i)), known)
		}
	case n.Kind == yaml.MappingNode:
		eachField(n, func(key, value *yaml.Node) {
			if strings.HasPrefix(key.Value, "x-") && !holdsNames(path) {
				return
			}
			at.Line = key.Line
			r.walkFields(at, value, extendPath(path, key.Value), known)
		})
	}
}

// holdsNames reports whether the fields of a mapping are names of the author's own. There, x- does
// not begin an extension: x-data may be a volume.
func holdsNames(path []string) bool {
	if len(path) == 0 {
		return false
	}
	switch path[len(path)-1] {
	case "volumes", "networks", "secrets", "configs", "models", "depends_on":
		return true
	}
	return false
}

func extendPath(path []string, part string) []string {
	return append(slices.Clip(path), part)
}

// matchPath says whether a converter reads the value at a path, and whether one
// reads something below it.
func matchPath(path []string, known [][]string) (whole, below bool) {
	for _, pattern := range known {
		w, b := matchPattern(path, pattern)
		whole, below = whole || w, below || b
	}
	return whole, below
}

func matchPattern(path, pattern []string) (whole, below bool) {
	for i, part := range path {
		if i == len(pattern) {
			return false, false
		}
		if pattern[i] == "**" {
			return true, true
		}
		if pattern[i] != "*" && pattern[i] != part {
			return false, false
		}
	}
	if len(path) == len(pattern) {
		return true, false
	}
	return pattern[len(path)] == "**", true
}

func childOf(n *yaml.Node, name string) *yaml.Node {
	var found *yaml.Node
	if n != nil {
		eachField(n, func(key, value *yaml.Node) {
			if key.Value == name {
				found = value
			}
		})
	}
	return found
}
