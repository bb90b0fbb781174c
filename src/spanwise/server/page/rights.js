// Rights of the key in use, as the server reports them with the list of knowledge bases.

export const rights = { canWrite: false, isRestricted: false };

/** Set the rights; a key with a filter can only read. */
export function setRights({ role, restricted }) {
  rights.canWrite = role !== "read" && !restricted;
  rights.isRestricted = restricted;
}
