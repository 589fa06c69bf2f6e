package compose

import (
	"errors"

	"go.yaml.in/yaml/v3"
)

// A document of aliases of aliases grows without end; no real file is as large.
const (
	maxNodes = 200_000
	maxDepth = 100
)

// resolveNode copies a node with its aliases and merge keys filled in. Every
// node keeps the line on which it is written.
func resolveNode(n *yaml.Node, depth int, size *int) (*yaml.Node, error) {
	if *size++; *size > maxNodes || depth > maxDepth {
		return nil, errors.New("this compose file is too deep or has too many aliases; " +
			"write out what they stand for")
	}
	if n.Kind == yaml.AliasNode {
		return resolveNode(n.Alias, depth+1, size)
	}
	out := *n
	out.Content = nil
	if n.Kind == yaml.MappingNode {
		return &out, fillMapping(&out, n, depth, size)
	}
	for _, item := range n.Content {
		resolved, err := resolveNode(item, depth+1, size)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, resolved)
	}
	return &out, nil
}

// fillMapping puts the own fields first, since they win over merged ones, and
// of several merged mappings the first wins.
func fillMapping(out, n *yaml.Node, depth int, size *int) error {
	taken := map[string]bool{}
	put := func(key, value *yaml.Node) {
		if !taken[key.Value] {
			taken[key.Value] = true
			out.Content = append(out.Content, key, value)
		}
	}
	var merged []*yaml.Node
	var failed error
	eachField(n, func(key, value *yaml.Node) {
		resolved, err := resolveNode(value, depth+1, size)
		switch {
		case err != nil:
			failed = err
		case key.Value != "<<":
			put(key, resolved)
		case resolved.Kind == yaml.SequenceNode:
			merged = append(merged, resolved.Content...)
		default:
			merged = append(merged, resolved)
		}
	})
	for _, from := range merged {
		eachField(from, put)
	}
	return failed
}
