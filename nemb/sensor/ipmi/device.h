// One request to a BMC through the kernel's IPMI device. See device.c.
#ifndef CG_NEMB_IPMI_DEVICE_H
#define CG_NEMB_IPMI_DEVICE_H

enum { CG_IPMI_MOST = 256 }; // bytes of an answer; IPMI_MAX_MSG_LENGTH is 272

struct cg_ipmi {
	int fd;
	unsigned char function, command;
	long number; // which the answer has, too
	const unsigned char *data;
	unsigned short size;
	unsigned char *answer; // of CG_IPMI_MOST bytes
	int within_ms;
};

// cg_ipmi_ask gives the length of the answer, or -1 with errno: ETIMEDOUT where none came.
int cg_ipmi_ask(const struct cg_ipmi *r);

#endif
