// The Gateway API, whose CustomResourceDefinitions tests install. Never built: 'go mod download' brings its files.
module davit.dev/test/cluster/gateway-api

go 1.26.0

require sigs.k8s.io/gateway-api v1.6.3
