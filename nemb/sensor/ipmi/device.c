// The ioctls of linux/ipmi.h (Documentation/driver-api/ipmi.rst): a request is sent, and its
// answer is fetched when the device can be read. Answers to earlier requests, which came
// too late, are thrown away.
#include <errno.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "device.h"

static long now_ms(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int cg_ipmi_ask(const struct cg_ipmi *r) {
	struct ipmi_system_interface_addr bmc = {
		.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE, .channel = IPMI_BMC_CHANNEL};
	struct ipmi_req request = {
		.addr = (unsigned char *)&bmc, .addr_len = sizeof bmc, .msgid = r->number,
		.msg = {.netfn = r->function, .cmd = r->command, .data_len = r->size, .data = (unsigned char *)r->data}};
	if (ioctl(r->fd, IPMICTL_SEND_COMMAND, &request))
		return -1;
	for (long end = now_ms() + r->within_ms;;) {
		struct pollfd wait = {.fd = r->fd, .events = POLLIN};
		long left = end - now_ms();
		int ready = left > 0 ? poll(&wait, 1, left) : 0;
		if (ready < 0 && errno != EINTR)
			return -1;
		if (!ready) {
			errno = ETIMEDOUT;
			return -1;
		}
		struct ipmi_addr from;
		struct ipmi_recv got = {
			.addr = (unsigned char *)&from, .addr_len = sizeof from,
			.msg = {.data = r->answer, .data_len = CG_IPMI_MOST}};
		if (ioctl(r->fd, IPMICTL_RECEIVE_MSG_TRUNC, &got)) {
			if (errno == EAGAIN || errno == EINTR)
				continue;
			return -1; // EMSGSIZE: no answer of this command is so long
		}
		if (got.recv_type == IPMI_RESPONSE_RECV_TYPE && got.msgid == r->number)
			return got.msg.data_len;
	}
}
