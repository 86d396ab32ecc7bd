package datahub

// MaxTold is how many facts are remembered.
const MaxTold = maxTold

// RestError and KafkaError say what an emitter's error means.
var RestError, KafkaError = restError, kafkaError
