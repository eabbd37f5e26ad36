package edge_test

import (
	"railguard/ofac"
	"railguard/ofac/sample"
)

func sampleEntities() []ofac.Entity { return sample.Entities() }
