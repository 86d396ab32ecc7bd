package librdkafka

import "strings"

// withoutEffect are librdkafka's properties that mean nothing here: how librdkafka itself works inside, what it logs and
// counts, and all that is for consumers.
var withoutEffect = names(`
	builtin.features message.copy.max.bytes receive.message.max.bytes metadata.recovery.strategy
	metadata.recovery.rebootstrap.trigger.ms topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.fast.cnt
	topic.metadata.refresh.sparse topic.metadata.propagation.max.ms topic.blacklist debug socket.blocking.max.ms
	socket.send.buffer.bytes socket.receive.buffer.bytes socket.nagle.disable socket.max.fails broker.address.ttl
	reconnect.backoff.jitter.ms reconnect.backoff.ms reconnect.backoff.max.ms statistics.interval.ms enabled.events
	error.cb throttle.cb stats.cb log.cb log.level log.queue log.thread.name enable.random.seed log.connection.close
	logger on.delivery background.event.cb socket.cb connect.cb closesocket.cb open.cb resolve.cb opaque
	internal.termination.signal api.version.request api.version.request.timeout.ms api.version.fallback.ms
	broker.version.fallback ssl.ca.certificate.stores ssl.providers ssl.cipher.suites ssl.curves.list ssl.sigalgs.list
	sasl.kerberos.service.name sasl.kerberos.principal sasl.kerberos.kinit.cmd sasl.kerberos.keytab
	sasl.kerberos.min.time.before.relogin interceptors client.rack transaction.timeout.ms enable.gapless.guarantee
	queue.buffering.backpressure.threshold batch.num.messages batch.size delivery.report.only.error dr.cb dr.msg.cb
	sticky.partitioning.linger.ms client.dns.lookup enable.metrics.push queuing.strategy produce.offset.report
	msg.order.cmp
	group.id group.instance.id partition.assignment.strategy session.timeout.ms heartbeat.interval.ms
	group.protocol.type group.protocol group.remote.assignor coordinator.query.interval.ms max.poll.interval.ms
	enable.auto.commit auto.commit.enable auto.commit.interval.ms enable.auto.offset.store queued.min.messages
	queued.max.messages.kbytes fetch.wait.max.ms fetch.queue.backoff.ms fetch.message.max.bytes
	max.partition.fetch.bytes fetch.max.bytes fetch.min.bytes fetch.error.backoff.ms offset.store.method
	offset.store.path offset.store.sync.interval.ms isolation.level consume.cb rebalance.cb offset.commit.cb
	enable.partition.eof check.crcs auto.offset.reset consume.callback.max.messages`)

func names(list string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		set[name] = true
	}
	return set
}
