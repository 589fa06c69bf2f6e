package pipeline

import "slices"

// AsWritten is a pipeline without what saving filled in: what people wrote.
func AsWritten(p Pipeline) Pipeline {
	p.Order, p.Steps = nil, slices.Clone(p.Steps)
	for i, s := range p.Steps {
		p.Steps[i] = s.WithContainer(func(c *ServiceStep) { c.Image = nil })
		if s.Plugin != nil {
			step := *s.Plugin
			step.Image, step.Component = nil, nil
			p.Steps[i].Plugin = &step
		}
		if s.Script != nil {
			step := *s.Script
			step.Removes = false
			p.Steps[i].Script = &step
		}
	}
	return p
}
