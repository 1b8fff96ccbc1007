// @ts-check
/**
 * The advice in Chinese: for every rule and variant in headroom/core/flags what its English texts say, over the same
 * parameters. tests/core/flags/test_translations.py holds both against each other.
 */

import { FLAG_RULES } from "./advice_flags.zh.mjs";
import { MACHINE_RULES } from "./advice_machine.zh.mjs";

/**
 * `otherwise` is said where the rule's flag could not be added; null where the rule adds none.
 * @typedef {{ title?: string, why?: string, check?: string, fix?: string, otherwise?: string | null }} Words
 * @typedef {Words & { variants?: Record<string, Words> }} Texts
 */

/** @type {Record<string, Texts>} */
export const ADVICE_ZH = { ...FLAG_RULES, ...MACHINE_RULES };

/** The change of the start line that an advice asks for. */
export const CHANGE_ZH = {
  both: "启动时用 {added} 代替 {removed}。",
  added: "启动时加上 {added}。",
  removed: "启动时去掉 {removed}。",
};

/** Words that the server puts into parameters in English. @type {Record<string, string>} */
export const PHRASES_ZH = {
  "Another Python program": "另一个 Python 程序",
  "another program": "另一个程序",
  "text encoding": "文本编码",
  sampling: "采样",
  "the decode": "解码",
  "Wan in unscaled fp8": "无缩放 fp8 的 Wan",
  "comfy-aimdo is not installed": "没有安装 comfy-aimdo",
  "the library of comfy-aimdo did not load": "comfy-aimdo 的库没有加载成功",
  "comfy-aimdo did not start on this card": "comfy-aimdo 没能在这张显卡上启动",
};
