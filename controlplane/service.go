package controlplane

import "github.com/nullops/nullops/pipeline"

// Service is something users deploy: a registry, an image and a tag mode.
type Service struct {
	ID       ServiceID
	Name     string
	Registry string
	// Host and Insecure are the registry's, for references.
	Host     string
	Insecure bool
	Image    string
	TagMode  pipeline.TagMode
	// Tag is the locked one of a pinned service, the default of a selectable.
	Tag string
	// Pattern limits what a user may select; empty means every tag.
	Pattern     string
	Description string
	// Step is how a new step of it begins; nil means empty.
	Step *pipeline.ServiceStep
}

// Reference returns the image as a saved pipeline stores it.
func (s Service) Reference() *pipeline.Image {
	return &pipeline.Image{
		Registry: s.Host, Insecure: s.Insecure, Repository: s.Image,
		TagMode: s.TagMode, Pattern: s.Pattern, Tag: s.Tag,
	}
}

// Plugin is a container image that implements a component.
type Plugin struct {
	ID       PluginID
	Name     string
	Registry string
	Host     string
	Insecure bool
	Image    string
	Tag      string
	// Digest is what Tag meant when the plugin was registered; it decides.
	Digest    string
	Component pipeline.Component
}

// Reference returns the image as a saved pipeline stores it.
func (p Plugin) Reference() *pipeline.Image {
	return &pipeline.Image{
		Registry: p.Host, Insecure: p.Insecure, Repository: p.Image,
		TagMode: pipeline.Pinned, Tag: p.Tag, Digest: p.Digest,
	}
}
