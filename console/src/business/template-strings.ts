import { defineStrings } from '../i18n/i18n';

export const t = defineStrings({
  en: {
    missing: 'Name, folder and file name are needed',
    unchanged: 'Nothing has changed',
    refused: 'It was refused',
    fields: {
      template_name: 'Name of the template',
      abs_path: 'Folder on the host',
      file_name: 'Name of the file; may have variables',
      owner: 'Owner',
      group: 'Group',
      filemode: 'Mode',
      line_separator: 'Line ends',
    },
  },
  zh: {
    missing: '需要名称、目录和文件名',
    unchanged: '没有改动',
    refused: '请求被拒绝',
    fields: {
      template_name: '模板名称',
      abs_path: '主机上的目录',
      file_name: '文件名，可使用变量',
      owner: '属主',
      group: '属组',
      filemode: '权限',
      line_separator: '换行符',
    },
  },
});
